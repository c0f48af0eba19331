"""Where simulated work comes from: at given times, by chance, or whenever there is too little."""
