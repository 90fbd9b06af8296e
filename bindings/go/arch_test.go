package rde

import (
	gobuild "go/build"
	"testing"
)

// unsupported.go does not compile, and says why; it belongs to every machine that this package cannot run on, and to no other.
func TestAMachineThatCannotRunThisIsToldSoByTheCompiler(t *testing.T) {
	for target, refused := range map[[2]string]bool{
		{"linux", "386"}: true, {"linux", "arm"}: true, {"linux", "s390x"}: true, {"darwin", "arm64"}: true, {"windows", "amd64"}: true,
		{"linux", "amd64"}: false, {"linux", "arm64"}: false, {"linux", "riscv64"}: false, {"linux", "ppc64le"}: false,
	} {
		machine := gobuild.Default
		machine.GOOS, machine.GOARCH = target[0], target[1]
		got, err := machine.MatchFile(".", "unsupported.go")
		if err != nil || got != refused {
			t.Errorf("%v: refused is %v, want %v (error %v)", target, got, refused, err)
		}
	}
}
