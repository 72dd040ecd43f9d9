package labtest

import "testing"

func TestALabIsNamedByItsNumber(t *testing.T) {
	list, err := jobs([]string{"01", "06-isr-and-acks"})
	if err != nil || len(list) != 2 || list[0].id != "01-first-messages" || list[1].id != "06-isr-and-acks" {
		t.Errorf("%+v, %v", list, err)
	}
	for _, name := range []string{"1", "99", "01-"} {
		if list, err := jobs([]string{name}); err == nil {
			t.Errorf("%s is %+v", name, list)
		}
	}
}
