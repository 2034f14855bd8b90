#!/bin/sh
# Installs concerto @VERSION@.
#
#   sh install.sh [--dir DIR] [--from BASE]
#
# DIR is the directory of the executables, ~/.local/bin by default. Manual pages, completions and the
# playground are installed in DIR/../share. BASE is the place of the archives: an https address, a
# directory, or an http address of this machine. The variable CONCERTO_INSTALL_FROM may name it, too.
#
# The script needs no root and changes no other file. Everything is one function, which the last line
# calls, so a part of the script does nothing.

install_concerto() {
	set -eu
	umask 022
	version='@VERSION@'
	base=${CONCERTO_INSTALL_FROM:-'@BASE@'}
	dir=
	work=
	staged=
	created=

	fail() {
		printf 'install.sh: %s\n' "$1" >&2
		exit "${2:-1}"
	}
	clean() {
		rm -rf ${work:+"$work"} ${staged:+"$staged"}
		if [ -n "$created" ]; then rmdir "$created" 2>/dev/null || :; fi
	}
	usage='usage: sh install.sh [--dir DIR] [--from BASE]'
	while [ $# -gt 0 ]; do
		case $1 in
		--dir=*) dir=${1#--dir=} ;;
		--from=*) base=${1#--from=} ;;
		--dir | --from)
			if [ $# -lt 2 ] || [ -z "$2" ]; then fail "$1 requires a value; $usage" 2; fi
			if [ "$1" = --dir ]; then dir=$2; else base=$2; fi
			shift
			;;
		--help | -h)
			printf '%s\n' "$usage"
			exit 0
			;;
		*) fail "unknown argument $1; $usage" 2 ;;
		esac
		shift
	done

	# The archive of this system.
	kernel=$(uname -s) || fail 'uname is required'
	machine=$(uname -m) || fail 'uname is required'
	if [ "$kernel/$machine" = Darwin/x86_64 ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || :)" = 1 ]; then
		machine=arm64 # a translated process on a processor for arm64
	fi
	case $kernel/$machine in
@ARCHIVES@
	MINGW* | MSYS* | CYGWIN*) fail 'on Windows, use install.ps1' ;;
	*) fail "concerto $version has no archive for $kernel $machine; it requires one of: @SYSTEMS@" ;;
	esac
	archive=concerto_${version}_$target.tar.gz

	# The place of the archive.
	base=${base%/}
	case $base in
	'') fail 'the place of the archives is not known: pass --from with an https address or a directory' ;;
	https://*) place=https ;;
	http://*)
		place=http
		authority=${base#http://}
		authority=${authority%%/*}
		case $authority in
		'[::1]') host=$authority ;;
		*) host=${authority%:*} ;;
		esac
		case $authority in
		*@*) host= ;; # the text before the @ is a name of a user
		esac
		case $host in
		localhost | '[::1]') ;;
		*[!0-9.]*) place=other ;;
		127.*.*.*) ;;
		*) place=other ;;
		esac
		if [ $place = other ]; then fail "$base is not encrypted: use an https address, a directory, or an http address of this machine"; fi
		;;
	*://*) fail "$base is neither an https address, nor a directory, nor an http address of this machine" ;;
	*)
		place=directory
		if [ ! -d "$base" ]; then fail "$base is not a directory"; fi
		;;
	esac

	# The commands that the rest needs.
	for command in tar gzip mktemp; do
		command -v $command >/dev/null || fail "$command is required"
	done
	if command -v sha256sum >/dev/null; then
		digest() { sha256sum <"$1"; }
	elif command -v shasum >/dev/null; then
		digest() { shasum -a 256 <"$1"; }
	elif command -v openssl >/dev/null; then
		digest() { openssl dgst -sha256 -r <"$1"; }
	else
		fail 'sha256sum, shasum or openssl is required'
	fi
	if [ $place = directory ]; then
		get() { cp "$1" "$2"; }
	elif command -v curl >/dev/null; then
		get() {
			if [ $place = https ]; then
				curl --fail --silent --show-error --location --proto =https --output "$2" "$1"
			else
				curl --fail --silent --show-error --noproxy '*' --output "$2" "$1"
			fi
		}
	elif command -v wget >/dev/null; then
		get() {
			if [ $place = https ]; then
				wget -q -O "$2" "$1"
			else
				(unset http_proxy HTTP_PROXY && wget -q -O "$2" "$1")
			fi
		}
	else
		fail "curl or wget is required to download $base/$archive"
	fi

	# The directory of the executables.
	if [ -z "$dir" ]; then
		if [ -z "${HOME:-}" ]; then fail 'HOME is not set: pass the directory of the executables with --dir'; fi
		dir=$HOME/.local/bin
	fi
	case $dir in
	/*) ;;
	*) dir=$PWD/$dir ;;
	esac
	named=$dir
	trap clean EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	if [ ! -d "$dir" ]; then
		mkdir -p "$dir" || fail "cannot create $dir: pass another directory with --dir"
		created=$dir
	fi
	dir=$(cd "$dir" && pwd -P) || fail "cannot enter $named: pass another directory with --dir"
	for program in @PROGRAMS@; do
		if [ -d "$dir/$program" ]; then fail "$dir/$program is a directory: pass another directory with --dir"; fi
	done
	work=$(mktemp -d "$dir/.concerto.XXXXXX") || fail "cannot write to $dir: pass another directory with --dir"

	# Download, verify, unpack and try.
	printf 'installing %s from %s\n' "$archive" "$base" >&2
	get "$base/$archive" "$work/$archive" || fail "cannot get $base/$archive; nothing was installed"
	got=$(digest "$work/$archive") || fail "cannot read $work/$archive; nothing was installed"
	got=${got%% *}
	if [ "$got" != "$sum" ]; then
		fail "checksum of $archive does not match: expected $sum, got $got; nothing was installed"
	fi
	tar -xzf "$work/$archive" -C "$work" || fail "cannot unpack $archive in $dir; nothing was installed"
	new=$work/${archive%.tar.gz}
	description=$("$new/concerto" version) || fail "concerto does not run on this system; nothing was installed"

	# Copies next to their places, which may be on another file system than the executables.
	share=$(dirname "$dir")/share
	mkdir -p "$share" || fail "cannot create $share; nothing was installed"
	staged=$(mktemp -d "$share/.concerto.XXXXXX") || fail "cannot write to $share; nothing was installed"
	mkdir "$staged/doc" &&
		cp -R "$new/man" "$new/completions" "$staged" &&
		cp -R "$new/README.md" "$new/LICENSE" "$new/licenses" "$staged/doc" || fail "cannot write to $share; nothing was installed"
	if [ -d "$new/playground" ]; then
		cp -R "$new/playground" "$staged" || fail "cannot write to $share; nothing was installed"
	fi

	# From here, files are only renamed. The executables are last.
	put() { # renames the file or directory $1 to $2
		if [ -d "$1" ]; then rm -rf "$2" || return 1; fi
		mv -f "$1" "$2"
	}
	for part in man/man1 man/man7 bash-completion/completions zsh/site-functions fish/vendor_completions.d concerto/completions doc; do
		mkdir -p "$share/$part" || fail "cannot create $share/$part; no executable was installed"
	done
	for page in "$staged"/man/man?/*; do
		section=${page#"$staged"/man/}
		put "$page" "$share/man/$section" || fail "cannot write to $share/man; no executable was installed"
	done
	put "$staged/completions/concerto.bash" "$share/bash-completion/completions/concerto" &&
		put "$staged/completions/concerto.zsh" "$share/zsh/site-functions/_concerto" &&
		put "$staged/completions/concerto.fish" "$share/fish/vendor_completions.d/concerto.fish" &&
		put "$staged/completions/concerto.ps1" "$share/concerto/completions/concerto.ps1" &&
		put "$staged/doc" "$share/doc/concerto" || fail "cannot write to $share; no executable was installed"
	if [ -d "$staged/playground" ]; then
		put "$staged/playground" "$share/concerto/playground" || fail "cannot write to $share; no executable was installed"
	fi
	for program in @PROGRAMS_LAST@; do
		put "$new/$program" "$dir/$program" || fail "cannot replace $dir/$program"
	done
	created=

	printf 'installed %s in %s\n' "$description" "$dir"
	case :$PATH: in
	*:"$dir":* | *:"$named":*) ;;
	*) printf 'add this line to the profile of your shell:\n  export PATH="%s:$PATH"\n' "$named" ;;
	esac
}

{ install_concerto "$@"; }
