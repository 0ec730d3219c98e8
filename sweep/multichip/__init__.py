"""Programs of many chips: their engines and commands, programs made and read, and what comes of them on a network."""
