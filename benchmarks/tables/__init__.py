"""A package also where PyTables, of the same name, is installed."""
