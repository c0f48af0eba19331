"""The YAML with which Fairlead is installed: a base for kustomize, and part of the package.

``deploy`` at the root of the repository is a link to this folder.
"""
