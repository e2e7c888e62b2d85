"""The command line: each module a command. Parses and shows; what it does is in the layers below."""
