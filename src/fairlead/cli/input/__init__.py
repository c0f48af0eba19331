"""What commands read: files, options, findings about them."""
