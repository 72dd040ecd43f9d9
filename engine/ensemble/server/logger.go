package server

import (
	"fmt"
	"log/slog"
)

// raftPanic is Raft's own panic: something that it was promised does not hold, such as that the log on disk is the one that it was told
// to keep. It ends this server, not the process, which may be the home of other nodes.
type raftPanic struct{ text string }

func (p raftPanic) Error() string { return "Raft gave up: " + p.text }

// contained runs something and returns Raft's panic as an error.
func contained(run func() error) (err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case raftPanic:
			err = cause
		default:
			panic(cause)
		}
	}()
	return run()
}

// raftLogger passes on what Raft logs. Its notices are details to us.
type raftLogger struct{ log *slog.Logger }

func (l raftLogger) Debug(v ...any)                   { l.log.Debug(fmt.Sprint(v...)) }
func (l raftLogger) Debugf(format string, v ...any)   { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l raftLogger) Info(v ...any)                    { l.log.Debug(fmt.Sprint(v...)) }
func (l raftLogger) Infof(format string, v ...any)    { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l raftLogger) Warning(v ...any)                 { l.log.Debug(fmt.Sprint(v...)) }
func (l raftLogger) Warningf(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l raftLogger) Error(v ...any)                   { l.log.Error(fmt.Sprint(v...)) }
func (l raftLogger) Errorf(format string, v ...any)   { l.log.Error(fmt.Sprintf(format, v...)) }
func (l raftLogger) Fatal(v ...any)                   { panic(raftPanic{fmt.Sprint(v...)}) }
func (l raftLogger) Fatalf(format string, v ...any)   { panic(raftPanic{fmt.Sprintf(format, v...)}) }
func (l raftLogger) Panic(v ...any)                   { panic(raftPanic{fmt.Sprint(v...)}) }
func (l raftLogger) Panicf(format string, v ...any)   { panic(raftPanic{fmt.Sprintf(format, v...)}) }
