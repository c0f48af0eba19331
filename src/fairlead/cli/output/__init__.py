"""What commands print: tables, documents, progress."""
