/* The least a process can do: the yardstick of every other figure. */
int main(void) { return 0; }
