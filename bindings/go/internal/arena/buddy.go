package arena

// The functions here want the arena's lock.

// take cuts a block of an order from the smallest free block that holds it.
func (a *Arena) take(order uint8) (Block, bool) {
	from := int(order)
	for from < len(a.free) && a.free[from] == none {
		from++
	}
	if from >= len(a.free) {
		return Block{}, false
	}
	page := a.free[from]
	a.remove(page)
	for at := uint8(from); at > order; {
		at--
		a.push(page+1<<at, at)
	}
	a.unused -= 1 << order
	a.blocks++
	return Block{uint32(page) + a.base, order, true}, true
}

// put joins a block with its free buddies, and serves who waits.
func (a *Arena) put(b Block) {
	a.unused += 1 << b.order
	a.blocks--
	page, order := b.Page-a.base, b.order
	for {
		buddy := page ^ 1<<order
		if buddy >= a.pages || a.order[buddy] != int8(order) {
			break
		}
		a.remove(int32(buddy))
		page &^= 1 << order
		order++
	}
	a.push(int32(page), order)
	a.serve()
}

// serve hands blocks to those who wait, in their order: a large request is not overtaken for ever by small ones.
func (a *Arena) serve() {
	for len(a.queue) > 0 {
		w := a.queue[0]
		b, ok := a.take(w.order)
		if !ok {
			return
		}
		a.queue[0] = nil
		a.queue = a.queue[1:]
		w.got = b
		close(w.done)
	}
}

func (a *Arena) push(page int32, order uint8) {
	head := a.free[order]
	a.next[page], a.prev[page], a.order[page] = head, none, int8(order)
	if head != none {
		a.prev[head] = page
	}
	a.free[order] = page
}

func (a *Arena) remove(page int32) {
	next, prev, order := a.next[page], a.prev[page], a.order[page]
	if prev == none {
		a.free[order] = next
	} else {
		a.next[prev] = next
	}
	if next != none {
		a.prev[next] = prev
	}
	a.order[page] = none
}
