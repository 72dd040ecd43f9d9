package tree

// Apply does a command that the leader of a term ordered. Commands must come in the order of the log, each once.
func (t *Tree) Apply(term uint64, command *Command) Outcome {
	if !t.advanceStream(command.Origin) {
		return Outcome{Zxid: t.zxid}
	}
	switch operation := command.Operation.(type) {
	case *Barrier:
		return Outcome{Taken: true, Zxid: t.zxid}
	case *AttachSession:
		return t.attachSession(command, operation)
	}
	t.zxid = nextZxid(t.zxid, term)
	outcome := t.transact(command)
	outcome.Taken = true
	outcome.Zxid = t.zxid
	return outcome
}

// nextZxid counts within a term and begins anew in the next one, as ZooKeeper does with epochs: a failed transaction uses one up too.
func nextZxid(last int64, term uint64) int64 {
	if epoch := int64(term) << 32; epoch > last {
		return epoch + 1
	}
	return last + 1
}

// advanceStream takes a server's next command and refuses every other one. A larger incarnation starts a stream anew.
func (t *Tree) advanceStream(origin Origin) bool {
	if origin.Server == 0 {
		return true
	}
	at := t.streams[origin.Server]
	if origin.Incarnation > at.incarnation {
		at = stream{incarnation: origin.Incarnation}
	}
	if origin.Incarnation < at.incarnation || origin.Sequence != at.sequence+1 {
		return false
	}
	at.sequence++
	t.streams[origin.Server] = at
	return true
}

// Incarnation is the largest one seen of a server's stream.
func (t *Tree) Incarnation(server int32) int64 { return t.streams[server].incarnation }

func (t *Tree) transact(command *Command) Outcome {
	switch operation := command.Operation.(type) {
	case *CreateSession:
		return t.createSession(command, operation)
	case *CloseSession:
		return t.closeSession(command)
	case *RemoveIdle:
		return t.removeIdle(command, operation)
	case *Reconfigure:
		return t.reconfigure(command, operation)
	case *Multi:
		if code := t.checkSession(command); code != OK {
			return Outcome{Result: Result{Code: code}}
		}
		return t.multi(command, operation)
	}
	if code := t.checkSession(command); code != OK {
		return Outcome{Result: Result{Code: code}}
	}
	result, changes := t.perform(command, command.Operation)
	return Outcome{Result: result, Changes: changes}
}

// perform does one operation on znodes. When it fails, it has changed nothing.
func (t *Tree) perform(command *Command, operation Operation) (Result, []Change) {
	switch operation := operation.(type) {
	case *CreateNode:
		return t.create(command, operation)
	case *DeleteNode:
		return t.delete(command, operation)
	case *SetData:
		return t.setData(command, operation)
	case *SetACL:
		return t.setACL(command, operation)
	case *Check:
		return t.check(command, operation)
	}
	return Result{Code: ErrUnimplemented}, nil
}

// multi does all operations, each on the state that the ones before it made, or takes back what was done. A failed multi answers 0
// for the operations before the one that failed, its code, and ErrRuntimeInconsistency for those after.
func (t *Tree) multi(command *Command, multi *Multi) Outcome {
	outcome := Outcome{Multi: make([]Result, len(multi.Operations))}
	t.recording = true
	defer func() { t.recording, t.undo = false, nil }()
	for i, operation := range multi.Operations {
		result, changes := t.perform(command, operation)
		outcome.Multi[i] = result
		outcome.Changes = append(outcome.Changes, changes...)
		if result.Code == OK {
			continue
		}
		t.takeBack()
		for j := range multi.Operations {
			switch {
			case j < i:
				outcome.Multi[j] = Result{Code: OK}
			case j > i:
				outcome.Multi[j] = Result{Code: ErrRuntimeInconsistency}
			}
		}
		outcome.Code = result.Code
		outcome.Changes = nil
		break
	}
	return outcome
}

func (t *Tree) takeBack() {
	undo := t.undo
	t.recording = false // taking back is not itself recorded
	for i := len(undo) - 1; i >= 0; i-- {
		undo[i]()
	}
}
