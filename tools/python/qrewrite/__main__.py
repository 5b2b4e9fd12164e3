from ._command import main

if __name__ == "__main__":  # tools import all modules of a package
    main()
