// Teller tells, for each line that it reads, the Unix time, and how many seconds a timer's clock says have passed.
package main

import (
	"bufio"
	"fmt"
	"os"
	"time"
)

func main() {
	began := time.Now()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		now := time.Now()
		fmt.Println(now.Unix(), int(now.Sub(began).Seconds()))
	}
}
