"""Pure decisions: nothing in here touches the outside, asks the time, or knows the runtime."""
