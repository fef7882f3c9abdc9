import Campanile

struct Rung: MessageCenter.Message { var bell: String }

let center = MessageCenter()
let token = center.observe(Rung.self) { print($0.bell) }
center.post(Rung(bell: "heard"))
withExtendedLifetime(token) {}
