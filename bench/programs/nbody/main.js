function body(x, y, z, vx, vy, vz, mass) {
  return {x: x, y: y, z: z, vx: vx, vy: vy, vz: vz, mass: mass};
}

function advance(bodies, n, dt) {
  for (var i = 0; i < n; i++) {
    var a = bodies[i];
    for (var j = i + 1; j < n; j++) {
      var b = bodies[j];
      var dx = a.x - b.x;
      var dy = a.y - b.y;
      var dz = a.z - b.z;
      var square = dx * dx + dy * dy + dz * dz;
      var mag = dt / (square * Math.sqrt(square));
      var ma = a.mass * mag;
      var mb = b.mass * mag;
      a.vx -= dx * mb;
      a.vy -= dy * mb;
      a.vz -= dz * mb;
      b.vx += dx * ma;
      b.vy += dy * ma;
      b.vz += dz * ma;
    }
  }
  for (var i = 0; i < n; i++) {
    var b = bodies[i];
    b.x += dt * b.vx;
    b.y += dt * b.vy;
    b.z += dt * b.vz;
  }
}

var bodies = [
  body(0, 0, 0, 0, 0, 0, 39.47841760435743),
  body(4.84143144246472090, -1.16032004402742839, -0.103622044471123109, 0.606326392995832, 2.81198684491626, -0.02521836165988763, 0.03769367487038949),
  body(8.34336671824457987, 4.12479856412430479, -0.403523417114321381, -1.0107743461787924, 1.8256623712304119, 0.008415761376584154, 0.011286326131968767),
  body(12.8943695621391310, -15.1111514016986312, -0.223307578892655734, 1.0827910064415354, 0.8687130181696082, -0.010832637401363636, 0.0017237240570597112),
  body(15.3796971148509165, -25.9193146099879641, 0.179258772950371181, 0.979090732243898, 0.5946989986476762, -0.034755955504078104, 0.0020336868699246304),
];
for (var i = 0; i < 200000; i++) advance(bodies, 5, 0.01);
print(Math.floor(bodies[0].x * 1e9 + 0.5));
