"""Facts to PROV and PROV-IO+ terms. The only place that knows IRIs."""
