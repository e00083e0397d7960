//go:build tools

// Package peers names the programs that tests build, so that their versions and sums are pinned here.
package peers

import _ "github.com/openconfig/gnmi/testing/fake/gnmi/cmd/fake_server"
