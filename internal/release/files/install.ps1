# Installs concerto @VERSION@.
#
#   install.ps1 [-Dir DIR] [-From BASE]
#
# DIR is the directory of the executables, ~\.local\bin by default. The completion scripts and the
# playground are installed in DIR\..\share. BASE is the place of the archives: an https address, a
# directory, or an http address of this machine. The variable CONCERTO_INSTALL_FROM may name it, too.
#
# The script needs no administrator and changes no setting. Everything is one function, which the last
# line calls, so a part of the script does nothing.

function Install-Concerto {
    param([string]$Dir, [string]$From)
    $ErrorActionPreference = 'Stop'
    $ProgressPreference = 'SilentlyContinue' # the bar makes downloads slow
    Set-StrictMode -Version 3
    $version = '@VERSION@'
    $archives = @{
@ARCHIVES@
    }

    # The archive of this system.
    $machine = $env:PROCESSOR_ARCHITECTURE
    if ($env:PROCESSOR_ARCHITEW6432) { $machine = $env:PROCESSOR_ARCHITEW6432 }
    if (-not $machine -or -not $archives.ContainsKey($machine)) {
        throw "install.ps1: concerto $version has no archive for Windows $machine; it requires one of: @SYSTEMS@"
    }
    $folder, $expected = $archives[$machine]
    $archive = "$folder.zip"

    # The place of the archive.
    if (-not $From) { $From = $env:CONCERTO_INSTALL_FROM }
    if (-not $From) { $From = '@BASE@' }
    if (-not $From) {
        throw 'install.ps1: the place of the archives is not known: pass -From with an https address or a directory'
    }
    $From = $From.TrimEnd('/', '\')
    $remote = $From -match '^[A-Za-z][A-Za-z0-9+.-]+://'
    if ($remote) {
        $address = [Uri]$From
        if ($address.Scheme -ne 'https' -and -not ($address.Scheme -eq 'http' -and $address.IsLoopback -and -not $address.UserInfo)) {
            throw "install.ps1: $From is not encrypted: use an https address, a directory, or an http address of this machine"
        }
    } elseif (-not (Test-Path -LiteralPath $From -PathType Container)) {
        throw "install.ps1: $From is not a directory"
    }

    # The directory of the executables.
    if (-not $Dir) { $Dir = Join-Path $HOME '.local\bin' }
    $Dir = $ExecutionContext.SessionState.Path.GetUnresolvedProviderPathFromPSPath($Dir)
    $share = Join-Path (Split-Path -Parent $Dir) 'share'
    [void](New-Item -ItemType Directory -Force -Path $Dir)
    $work = Join-Path $Dir ('.concerto.' + [Guid]::NewGuid().ToString('N'))
    [void](New-Item -ItemType Directory -Path $work)
    try {
        # Download, verify, unpack and try.
        $file = Join-Path $work $archive
        Write-Host "installing $archive from $From"
        if ($remote) {
            [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12
            Invoke-WebRequest -UseBasicParsing -Uri "$From/$archive" -OutFile $file
        } else {
            Copy-Item -LiteralPath (Join-Path $From $archive) -Destination $file
        }
        $got = (Get-FileHash -Algorithm SHA256 -LiteralPath $file).Hash.ToLowerInvariant()
        if ($got -ne $expected) {
            throw "install.ps1: checksum of $archive does not match: expected $expected, got $got; nothing was installed"
        }
        Expand-Archive -LiteralPath $file -DestinationPath $work
        $new = Join-Path $work $folder
        $description = & (Join-Path $new 'concerto.exe') version
        if ($LASTEXITCODE -ne 0) {
            throw 'install.ps1: concerto does not run on this system; nothing was installed'
        }

        # Files of the new version replace those of the old one. The executables are last.
        $parts = @(
            @('README.md', 'doc\concerto'), @('LICENSE', 'doc\concerto'), @('licenses', 'doc\concerto'),
            @('completions', 'concerto'), @('playground', 'concerto')
        )
        foreach ($part in $parts) {
            $name, $place = $part
            if (-not (Test-Path -LiteralPath (Join-Path $new $name))) { continue }
            $place = Join-Path $share $place
            [void](New-Item -ItemType Directory -Force -Path $place)
            $target = Join-Path $place $name
            if (Test-Path -LiteralPath $target) { Remove-Item -LiteralPath $target -Recurse -Force }
            Move-Item -LiteralPath (Join-Path $new $name) -Destination $target
        }
        foreach ($program in @PROGRAMS_LAST@) {
            $target = Join-Path $Dir $program
            $old = Join-Path $work "$program.old"
            # Windows renames an executable that runs, but does not replace it.
            if (Test-Path -LiteralPath $target) { Move-Item -LiteralPath $target -Destination $old }
            try {
                Move-Item -LiteralPath (Join-Path $new $program) -Destination $target
            } catch {
                if (Test-Path -LiteralPath $old) { Move-Item -LiteralPath $old -Destination $target }
                throw
            }
        }
    } finally {
        # An old executable that still runs stays in this directory.
        Remove-Item -LiteralPath $work -Recurse -Force -ErrorAction SilentlyContinue
    }

    Write-Host "installed $description in $Dir"
    if (($env:Path -split ';') -notcontains $Dir) {
        Write-Host 'add this line to your PowerShell profile:'
        Write-Host "  `$env:Path = `"$Dir;`$env:Path`""
    }
}

& { Install-Concerto @args } @args
