"""The ground: argument checks, frames, compiled functions, threads, signals, processes, files."""
