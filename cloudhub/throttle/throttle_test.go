package throttle

import (
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

func TestOnlyFailuresCostAndOnlyTheirParty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := New(time.Second, 3)
		for range 3 {
			if w := th.Wait("a"); w != 0 {
				t.Fatalf("%s within the budget", w)
			}
			th.Fail("a")
		}
		if w := th.Wait("a"); w <= 0 || w > time.Second {
			t.Fatalf("without a budget: %s", w)
		}
		if w := th.Wait("b"); w != 0 {
			t.Fatalf("another party waits %s", w)
		}
		time.Sleep(time.Second)
		if w := th.Wait("a"); w != 0 {
			t.Fatalf("%s once a second has passed", w)
		}
	})
}

func TestPartiesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := New(time.Second, 1)
		for i := range 3 * maxParties {
			th.Fail(fmt.Sprint(i))
		}
		if n := len(th.parties); n != maxParties {
			t.Fatalf("%d parties are kept", n)
		}
		if th.Wait("one more") == 0 {
			t.Fatal("parties beyond the bound have no budget in common")
		}
		time.Sleep(2 * time.Second)
		th.Fail("late")
		if n := len(th.parties); n != 1 {
			t.Fatalf("%d parties are kept that owe nothing", n)
		}
	})
}

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.7:1234": "192.0.2.7", "[2001:db8:1:2:3::4]:1": "2001:db8:1:2::/64", "[::ffff:192.0.2.7]:1": "192.0.2.7",
	} {
		addr, err := net.ResolveTCPAddr("tcp", in)
		if err != nil {
			t.Fatal(err)
		}
		if got := Address(addr); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
