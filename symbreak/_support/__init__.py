"""The ground: argument checks, compiled functions, threads, signals, processes, files."""
