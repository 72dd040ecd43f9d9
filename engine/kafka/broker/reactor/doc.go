// Package reactor is a broker's network layer, in the shape that Kafka gave it:
//
//	            +-- processor 0 --+                       +-- handler 0 --+      append, read,
//	acceptor ---+-- processor 1 --+--> request queue -----+-- handler 1 --+--->  ask the controller …
//	 (a listener)+-- processor 2 --+     (bounded)        +-- handler N --+        |          |
//	                   ^                                                           |          | cannot be
//	                   |                                                           |          | answered yet
//	                   +------------------ response -------------------------------+          v
//	                   +------------------ response ---------------------------------- purgatory
//
// The acceptor takes connections and deals them out to processors. A processor owns a share of the connections. In Apache Kafka it is a
// thread with a selector; in Go the runtime is the selector, so here each of its connections has a goroutine that blocks in Read and
// Write. It reads one request, puts it in the request queue and reads the next one only after it wrote the response: requests of one
// connection are served strictly in order, and a client that sends faster than it is served is held back by TCP.
//
// Handlers never wait. A request that cannot be answered yet (acks=all, or a Fetch with nothing to fetch) becomes a delayed operation
// in the purgatory, which watches the keys that it depends on and answers it when one of them changed enough, or when its time is up.
// So eight handlers serve thousands of waiting clients.
package reactor
