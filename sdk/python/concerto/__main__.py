"""python3 -m concerto tool MODULE:FUNCTION runs a function as the command of a tool."""
import sys

from . import _main  # pyright: ignore[reportPrivateUsage]

sys.exit(_main(sys.argv[1:]))
