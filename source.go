package main

import "embed"

// sources is the engines' code, for the page: a student who reads what a thing does can read how.
//
//go:embed engine/*/*.go engine/*/*/*.go engine/*/*/*/*.go engine/*/*/*/*/*.go engine/*/*.md
var sources embed.FS
