"""The tests of the shop: imports each module and calls its function check()."""
import importlib
import pathlib
import sys

sys.dont_write_bytecode = True
modules = sorted(p.stem for p in pathlib.Path("shop").glob("*.py"))
for name in modules:
    importlib.import_module("shop." + name).check()
print(len(modules), "modules are correct")
