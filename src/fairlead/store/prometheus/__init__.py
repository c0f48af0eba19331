"""Past use as a Prometheus server scraped it."""
