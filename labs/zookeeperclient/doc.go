// Package zookeeperclient is `twinlog zookeeper-client`: a ZooKeeper client for the terminal, so that whoever has the classroom needs no Java
// to do the labs about the ensemble. It takes the words of zkCli.sh, which does the same here, and talks to a server as any client does:
// through a public Go library, and with nothing that only we know.
package zookeeperclient
