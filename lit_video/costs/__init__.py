"""Parameters and multiply-adds: counted, and as the papers print them."""
