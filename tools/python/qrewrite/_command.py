"""The command `qrewrite`: the program that the package carries."""
import os
import sys


def program() -> str:
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "qrewrite")


def main() -> None:
    os.execv(program(), ["qrewrite", *sys.argv[1:]])
