"""What ran in this folder's notebooks: kept in a file, over sessions and restarts, to be compared.

`store` is the file, `recorder` writes what the hub tells into it, `results` are the runs that a user holds,
`changes` what is different between two of them. Nothing is imported here: `%load_ext workbench` needs the
recorder alone.
"""
