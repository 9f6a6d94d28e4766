package main

func bareLoop([]string) int { return 0 }
