"""The command line: reads arguments, calls the layers below, prints for people or programs."""
