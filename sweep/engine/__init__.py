"""How a grid is evaluated: graph, plan, loop nests, compiled and cached, run over blocks. Knows no physics."""
