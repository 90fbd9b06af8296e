package layout

import (
	"os"
	"testing"
)

func TestTheLayoutIsTheGoldenOne(t *testing.T) {
	want, err := os.ReadFile("../../../../shm_layout/golden/layout.txt")
	if os.IsNotExist(err) {
		t.Skip("the module was taken out of its repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := golden(); got != string(want) {
		t.Fatalf("this compiler lays the structs out in another way than shm_layout/golden/layout.txt; got:\n%s", got)
	}
}
