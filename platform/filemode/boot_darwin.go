package filemode

import "golang.org/x/sys/unix"

// bootID names the run of the system since it last started; "" if it has no name.
func bootID() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid")
	return id
}
