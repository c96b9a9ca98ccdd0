/**
 * The program that reads and writes extended attributes, which Node can't. It is Perl's, because every Debian has that
 * one, and it needs nothing but the bare system call.
 *
 * Each line asks and gets one line: `r <path>` is answered with the attributes, `w <path> <attributes>` with `ok` or
 * `no`. Paths, names and values are in hex; an attribute is `name=value`. A link itself is meant, not what it leads to.
 */
export const attributeProgram = `
use strict; use warnings;
my %of = (x64 => [189, 192, 195, 198], arm64 => [6, 9, 12, 15]);
my ($set, $get, $list, $remove) = @{$of{$ARGV[0]} or exit 3};
my $space = "user.e2b.";
$| = 1;
sub names {
  my ($path) = @_; my $room = "\\0" x 65536;
  my $length = syscall($list, $path, $room, 65536);
  return () if $length < 0;
  return grep { index($_, $space) == 0 } split /\\0/, substr($room, 0, $length);
}
sub value {
  my ($path, $name) = @_; my $room = "\\0" x 65536;
  my $length = syscall($get, $path, $name, $room, 65536);
  return $length < 0 ? undef : substr($room, 0, $length);
}
sub write_all {
  my ($path, @pairs) = @_;
  for my $name (names($path)) { syscall($remove, $path, $name) == 0 or return 0; }
  for my $pair (@pairs) {
    my ($name, $value) = map { pack "H*", $_ } split /=/, $pair, -1;
    my $full = $space . $name;
    syscall($set, $path, $full, $value, length $value, 0) == 0 or return 0;
  }
  return 1;
}
while (my $line = <STDIN>) {
  chomp $line;
  my ($verb, $hex, @pairs) = split / /, $line;
  my $path = pack "H*", $hex // "";
  if ($verb eq "w") { print write_all($path, @pairs) ? "ok\\n" : "no\\n"; next; }
  my @found;
  for my $name (names($path)) {
    my $value = value($path, $name);
    next unless defined $value;
    push @found, unpack("H*", substr($name, length $space)) . "=" . unpack("H*", $value);
  }
  print join(" ", @found), "\\n";
}
`;
