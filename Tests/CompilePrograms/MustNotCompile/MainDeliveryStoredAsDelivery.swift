// expect-error: type 'Delivery' has no member 'main'
import Campanile

// A stored delivery says nothing about isolation; the form for the main queue is `mainQueue`.
let delivery: Delivery = .main
