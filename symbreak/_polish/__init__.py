"""Polish: from a point near an optimum down to its floor."""
