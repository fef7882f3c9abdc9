// expect-error: 5:27: 'main' is unavailable: A Delivery says nothing about isolation: use .queue(.main), or a MainDelivery for .main
import Campanile

// A stored delivery says nothing about isolation; the form for the main queue is `.queue(.main)`.
let delivery: Delivery = .main
