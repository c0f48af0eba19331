"""The record of use in a file of our own."""
