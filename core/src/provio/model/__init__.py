"""What can be said: ids, events, evidence, facts, gaps, wire numbers, table schemas. Stdlib only."""
