//go:build !race

package broker_test

const underRace = false
