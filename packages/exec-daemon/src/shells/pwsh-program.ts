/**
 * PowerShell for sessions, by the same rules as bash (`bash-program.ts`). Texts travel as base64, for they are .NET's
 * and not bytes: variables by PowerShell's own serializer, so that what isn't plain data arrives as a copy of its
 * properties. Its native programs take the folder and the environment from the process, as in any PowerShell.
 */
import type { LoadPlan, ShellProgram, StateDescriptors } from "./shell-program.ts";
import { type StateRecord, stateMagic } from "./shell-state.ts";

const openDescriptor = (fd: number, access: "Read" | "Write"): string =>
  `[IO.FileStream]::new([Microsoft.Win32.SafeHandles.SafeFileHandle]::new([IntPtr]${fd}, $true), [IO.FileAccess]::${access})`;

const saveProgram = `function global:__sand_save {
$__sand_out = [IO.StreamWriter]::new(${"$global:__sand_stream"}, [Text.Encoding]::Latin1)
function put([string]$kind, [string]$name, [string]$code) { $__sand_out.Write($kind + [char]0 + $name + [char]0 + $code + [char]0) }
function pack([string]$text) { [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes($text)) }
$__sand_out.Write('${stateMagic}' + [char]0)
put 'cwd' '' ((Get-Location -PSProvider FileSystem).ProviderPath)
foreach ($row in Get-ChildItem Env:) { put 'variable' $row.Name (pack $row.Value) }
foreach ($row in Get-ChildItem Function:) {
if ($row.Name -like '__sand_*' -or $global:__sand_functions.ContainsKey($row.Name) -or $row.Name -in 'put', 'pack') { continue }
put 'function' (pack $row.Name) (pack $row.Definition)
}
foreach ($row in Get-Alias) {
if ($global:__sand_aliases[$row.Name] -eq $row.Definition) { continue }
put 'alias' (pack $row.Name) (pack $row.Definition)
}
foreach ($row in Get-Variable -Scope Global) {
if ($row.Name -like '__sand_*' -or $global:__sand_variables.ContainsKey($row.Name) -or $row.Options -match 'Constant|ReadOnly') { continue }
put 'options' (pack $row.Name) (pack ([Management.Automation.PSSerializer]::Serialize($row.Value, 3)))
}
put 'end' '' ''
$__sand_out.Flush()
}
`;

function argv(
  path: string,
  command: string,
  { load }: StateDescriptors,
  isLogin: boolean,
): readonly string[] {
  const text = Buffer.from(command, "utf8").toString("base64");
  const stub = [
    `$global:__sand_reader = [IO.StreamReader]::new(${openDescriptor(load, "Read")}, [Text.Encoding]::Latin1)`,
    ". ([ScriptBlock]::Create($__sand_reader.ReadToEnd()))",
    "$global:__sand_code = 0",
    "try {",
    `. ([ScriptBlock]::Create([Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('${text}'))))`,
    "if (-not $?) { $global:__sand_code = 1 }",
    "if ($LASTEXITCODE) { $global:__sand_code = $LASTEXITCODE }",
    "} catch { $global:__sand_code = 1; [Console]::Error.WriteLine($_) } finally { if ($__sand_stream) { __sand_save } }",
    "exit $global:__sand_code",
  ].join("\n");
  return [path, ...(isLogin ? ["-Login"] : ["-NoProfile"]), "-NoLogo", "-NonInteractive", "-Command", stub];
}

function loadText({ records, cwd, unset, saves, descriptors }: LoadPlan): string {
  const of = (kind: StateRecord["kind"]) => records.filter((record) => record.kind === kind);
  const isPacked = ({ code }: StateRecord): boolean => /^[A-Za-z0-9+/=]*$/u.test(code);
  const unpack = (text: string): string =>
    `[Text.Encoding]::UTF8.GetString([Convert]::FromBase64String('${/^[A-Za-z0-9+/=]*$/u.test(text) ? text : ""}'))`;
  const variables = of("variable").filter((row) => isPacked(row) && /^\w+$/u.test(row.name));
  const lines = [
    ...(saves ? [saveProgram, `$global:__sand_stream = ${openDescriptor(descriptors.save, "Write")}`] : []),
    "$global:__sand_functions = @{}; foreach ($row in Get-ChildItem Function:) { $global:__sand_functions[$row.Name] = 1 }",
    "$global:__sand_aliases = @{}; foreach ($row in Get-Alias) { $global:__sand_aliases[$row.Name] = $row.Definition }",
    "$global:__sand_variables = @{}; foreach ($row in Get-Variable -Scope Global) { $global:__sand_variables[$row.Name] = 1 }",
    ...unset.map((name) => `Remove-Item -ErrorAction Ignore 'Env:${name}'`),
    ...variables.map(({ name, code }) => `Set-Item -LiteralPath 'Env:${name}' -Value (${unpack(code)})`),
    ...(cwd === undefined
      ? []
      : [`Set-Location -LiteralPath (${unpack(Buffer.from(cwd, "latin1").toString("base64"))})`]),
    ...of("function").map(
      ({ name, code }) =>
        `Set-Item -LiteralPath ('Function:global:' + ${unpack(name)}) -Value (${unpack(code)})`,
    ),
    ...of("alias").map(
      ({ name, code }) => `Set-Alias -Scope Global -Force ${`(${unpack(name)})`} (${unpack(code)})`,
    ),
    ...of("options").map(
      ({ name, code }) =>
        `Set-Variable -Scope Global (${unpack(name)}) ([Management.Automation.PSSerializer]::Deserialize(${unpack(code)}))`,
    ),
  ];
  return `${lines.join("\n")}\n`;
}

export const pwshProgram: ShellProgram = {
  paths: ["/usr/bin/pwsh", "/opt/microsoft/powershell/7/pwsh", "/usr/local/bin/pwsh"],
  argv,
  loadText,
  loginFiles: [".config/powershell/profile.ps1"],
};
