package node

// maker makes a role's driver.
type maker func(config Config, pace timeouts, surroundings Surroundings) (driver, error)

// makers by role.
var makers = map[string]maker{}
